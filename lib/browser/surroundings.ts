/** The members of browsers that other environments may lack. Names of the DOM are known in `lib/browser/` only. */
interface Surroundings {
  readonly location?: { readonly origin: string }
  readonly localStorage: {
    getItem(key: string): string | null
    setItem(key: string, value: string): void
  }
  readonly document?: { readonly hidden: boolean; addEventListener: Listen }
  readonly addEventListener?: Listen
  readonly navigator?: {
    readonly locks?: {
      request(name: string, options: { signal: AbortSignal }, run: () => unknown): Promise<unknown>
    }
  }
}
type Listen = (type: string, listener: () => void, options: { signal: AbortSignal }) => void

export const surroundings = globalThis as unknown as Surroundings
export const ignore = (): void => undefined
export const sleep = (milliseconds: number) =>
  new Promise((resolve) => setTimeout(resolve, milliseconds))

/** Aborts it after so many milliseconds. React Native has no `AbortSignal.timeout`. */
export const limited = (milliseconds: number, stop = new AbortController()): AbortSignal => {
  // Without `unref`, Node would wait for this timer before it exits.
  setTimeout(() => stop.abort(), milliseconds).unref?.()
  return stop.signal
}

export const shareRuns = <Result>(run: () => Promise<Result>) => {
  let running: Promise<Result> | undefined
  return (): Promise<Result> => (running ??= run().finally(() => (running = undefined)))
}
