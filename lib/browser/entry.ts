import { surroundings } from './surroundings.js'

/**
 * Returns a function that reads or writes what all tabs share: a random id of the login and the time when its token
 * expires; or else why no user is logged in. Where storage throws, this tab shares nothing.
 *
 * @param key - the name of the entry in the storage; '' for an app, which has but one session
 */
export const shareEntry = (key: string) => {
  let entry = ''
  return (next?: string): string => {
    entry = next ?? entry
    try {
      if (key) {
        if (next) surroundings.localStorage.setItem(key, next)
        else entry = surroundings.localStorage.getItem(key) ?? ''
      }
    } catch {
      key = ''
    }
    return entry
  }
}

export const idOf = (entry: string): string => entry.replace(/ ?\S*$/, '')
/** Milliseconds until the token expires; NaN where there is none. */
export const leftOf = (entry: string): number => Number(entry.split(' ')[1]) - Date.now()
