/** Something that is wrong, or that one should know; notes are no reason to worry. */
export interface Finding {
  readonly level: 'error' | 'warning' | 'note'
  /** The variable that it is about, if it is about one. */
  readonly variable: string | null
  readonly problem: string
  readonly remedy: string
}

/** A kind of finding. */
export const finding =
  (level: Finding['level']) =>
  (variable: string | null, problem: string, remedy: string): Finding => ({
    level,
    variable,
    problem,
    remedy,
  })

export const error = finding('error')
export const warning = finding('warning')
export const note = finding('note')
