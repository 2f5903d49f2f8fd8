import type { Environment } from '../../options/environment.js'

/** One result of the doctor. A note is for information only and does not change the exit code. */
export interface Finding {
  readonly level: 'error' | 'warning' | 'note'
  /** The variable that it is about, if it is about one. */
  readonly variable: string | null
  readonly problem: string
  readonly remedy: string
}

/** Makes the function that creates findings of one level. */
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

/** The configuration that is checked. */
export interface Setting {
  readonly env: Environment
  /** The env file and its variables; null without one. */
  readonly file: { readonly path: string; readonly env: Environment } | null
  /** The path of the ring file; null without one. */
  readonly ring: string | null
}

/** A check for what a boot accepts but is probably a mistake. */
export type Doubt = (setting: Setting) => readonly Finding[] | Promise<readonly Finding[]>
