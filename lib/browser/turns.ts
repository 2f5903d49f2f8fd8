import { ignore, limited, sleep, surroundings } from './surroundings.js'

/**
 * Lets one at a time change the session, in all tabs but those that hang.
 *
 * @param key - the name of the lock; '' if this is no page, but an app on its own
 * @param turn - resolves when all earlier refreshes, logins and logouts of this tab are done
 */
export const takeTurns = (key: string, turn: Promise<unknown>) => {
  const locks = key && surroundings.navigator?.locks

  /** @param wait - milliseconds, more than a refresh takes, since its cookies must not arrive after a login */
  return <Result>(run: () => Promise<Result>, wait = 10_000): Promise<Result> => {
    const result: Promise<Result> = turn.then(async () => {
      if (locks)
        await new Promise<void>((resolve) =>
          locks
            .request(key, { signal: limited(wait) }, () => {
              resolve()
              // Other processes see a little later what this one has stored.
              return result.finally(() => sleep(100))
            })
            .catch(resolve),
        )
      return run()
    })
    turn = result.catch(ignore)
    return result
  }
}
