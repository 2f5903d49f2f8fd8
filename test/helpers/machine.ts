import { thisMachine, type Files, type Machine } from '../../lib/cli/ring/files.js'

/** This machine, with some functions of its files replaced. */
export function machineWith(
  files: Partial<Record<keyof Files, unknown>>,
  rest: Partial<Machine> = {},
): Machine {
  return { ...thisMachine, ...rest, files: { ...thisMachine.files, ...(files as Partial<Files>) } }
}

/** A function that fails as those of the operating system do. */
export function failing(code: string) {
  return async (): Promise<never> => {
    throw Object.assign(new Error(code), { code })
  }
}
