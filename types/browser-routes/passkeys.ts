// This file names no types of Fastify or Node: pages compile it with those of the DOM alone.
import type { FactorFields } from '../browser.js'

declare module '../browser.js' {
  interface PostBodies {
    /** Makes a challenge for a login. */
    'login/passkey/options': object
    /** Logs in, by the response of a passkey. */
    'login/passkey': Pick<FactorFields, 'token' | 'response'>
    /** Makes a challenge for a new passkey. */
    'passkeys/options': object
    /** Stores a new passkey. */
    passkeys: Pick<FactorFields, 'token' | 'response'> & Partial<Pick<FactorFields, 'name'>>
    /** Gives a passkey another name. */
    'passkeys/rename': Pick<FactorFields, 'id' | 'name'>
    /** Removes a passkey. */
    'passkeys/remove': Pick<FactorFields, 'id'>
  }
  interface GetRoutes {
    /** The passkeys of the user. `list()` of `createPasskeys()` reads them. */
    passkeys: true
  }
}
