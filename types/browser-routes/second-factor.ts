// This file names no types of Fastify or Node: pages compile it with those of the DOM alone.
import type { FactorFields } from '../browser.js'

declare module '../browser.js' {
  interface PostBodies {
    /** Finishes a login that was answered with 202. */
    'login/second-factor': Pick<FactorFields, 'token' | 'code' | 'remember'>
    /** Makes a secret for an authenticator app, a `uri` for a QR code, and a token. */
    'second-factor/setup': object
    /** Switches the second factor on, by a code of that app. The `body` of the response has the recovery codes. */
    'second-factor/enable': Pick<FactorFields, 'token' | 'code'>
    /** Makes new recovery codes in place of the old ones. */
    'second-factor/recovery-codes': object
    /** Has all remembered devices ask for a code again. */
    'second-factor/forget-devices': object
    /** Switches the second factor off. */
    'second-factor/disable': object
  }
  interface GetRoutes {
    /** Whether the second factor is on. */
    'second-factor': true
  }
}
