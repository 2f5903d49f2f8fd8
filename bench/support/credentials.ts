import bcrypt from 'bcrypt'
import { basicHeader, requestText } from './connection.js'

export const cost = 10
/** The password of all users; their hashes differ. */
export const password = 'correct horse battery staple'

/** More users than connections, so that no two requests under way are for the same one. */
export function hashesOf(users: number): Promise<string[]> {
  return Promise.all(Array.from({ length: users }, () => bcrypt.hash(password, cost)))
}

/** Makes requests with a right and a wrong password in turn, each for the next user. */
export function credentials(users: number, kind: 'login' | 'basic'): () => string {
  let count = 0
  return () => {
    count += 1
    const username = `user${(count >> 1) % users}`
    const given = count % 2 === 0 ? password : `wrong ${count}`
    return kind === 'login'
      ? requestText('POST', '/login', {}, { username, password: given })
      : requestText('GET', '/basic', basicHeader(username, given))
  }
}
