/**
 * Waits for a promise for a limited time. A promise that is late is not cancelled; its result is ignored.
 *
 * @param late - makes the error that is thrown after so many milliseconds
 */
export async function withTimeout<T>(
  work: PromiseLike<T>,
  milliseconds: number,
  late: () => Error,
): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const timeout = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(late()), milliseconds)
  })
  try {
    return await Promise.race([work, timeout])
  } finally {
    clearTimeout(timer)
  }
}
