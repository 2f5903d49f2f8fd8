/**
 * Waits for a promise for a limited time. The work of a late promise goes on; its result is ignored.
 *
 * @param late - makes the error that is thrown then
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
