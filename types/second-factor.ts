import type { FastifyRequest, RouteShorthandOptions } from 'fastify'
import type { StoreResult } from './store-result.js'
import type { StoredUser } from './user-service.js'
import type { OfRegistration } from './events.js'

/** Codes of an authenticator app (TOTP), recovery codes and remembered devices: the option `secondFactor`. */
export interface SecondFactorOptions<Stored extends object = StoredUser> {
  /**
   * 1 to 5 secrets of at least 32 bytes, which encrypt what is stored (AES-256-GCM): the first one encrypts, all decrypt.
   * A key of `jwt` makes startup fail. Never lose them: what no secret opens is an internal error (500).
   */
  key: string | Uint8Array | readonly (string | Uint8Array)[]
  /** The name of the app in authenticator apps, without a colon. */
  issuer: string
  /**
   * Stores `after` in the field of the user if `before` is still there (compare-and-swap); each may be null, so compare
   * with `is not distinct from` in SQL.
   *
   * @param user - the object that `findByUsername` returned
   * @returns whether it was stored
   */
  update(
    user: Stored,
    after: string | null,
    before: string | null,
  ): StoreResult | PromiseLike<StoreResult>
  /**
   * The field of the stored user with the text that `update` stores, null for none. `request.user` does not have it. A
   * user without the field is an internal error (500). Default `secondFactor`.
   */
  field?: string | undefined
  /** The field of the stored user that authenticator apps show. Default `email`. */
  accountField?: string | undefined
  /**
   * The page that asks for the code after a login with a provider; the token follows behind `#`. A path, or an address whose
   * origin is in `cookies.trustedOrigins`. Required beside `loginWith`.
   */
  page?: string | undefined
  /** Seconds for which a device can be remembered, 3,600 to 7,776,000. Needs `cookies`. Default: none is. */
  remember?: number | undefined
  /** More options of the routes, such as hooks. */
  routeOptions?: Omit<RouteShorthandOptions, 'validatorCompiler' | 'attachValidation'> | undefined
}

/** What the 202 of a login asks for. */
export interface AskedSecondFactor {
  /** The token for `POST /login/second-factor`. */
  readonly token: string
  /** Seconds for which it works. */
  readonly expiresIn: number
}

/** The functions of `app.authn.secondFactor`, for support. */
export interface SecondFactor {
  /**
   * Removes the second factor of a user who has lost it: for support, which has to know the user by other means. Sessions
   * stay. It also removes a text that no key opens.
   *
   * @param name - as for `findByUsername`
   * @param request - of the person who does it; the event has it
   * @returns whether there was one; false for an unknown user
   * @throws (rejects) ERR_AUTH_OVERLOADED (503) if the text was changed again and again; AuthenticationFault
   */
  disable(name: string | number, request: FastifyRequest): Promise<boolean>
}

/** Counts of the second factors of a registration, since this process has started. */
export interface SecondFactorStats {
  /** Second factors that were enabled. */
  readonly enabled: number
  /** Codes that were wrong. */
  readonly failed: number
}

/** Published when a second factor was changed, and when a code was wrong. */
export interface SecondFactorEvent extends OfRegistration {
  /** What has happened. */
  readonly action: 'enabled' | 'disabled' | 'failed' | 'recovery-code-used' | 'recovery-codes'
  /** The claim `sub` of the tokens of the user. */
  readonly sub: string
  /** Recovery codes that are left, for `recovery-code-used`. */
  readonly left?: number
  /** The request. It holds what the client sent, codes and tokens included: never log it whole. */
  readonly request: FastifyRequest
}

declare module './login.js' {
  interface LoginBody {
    /**
     * With the status 202, in place of tokens: the user has a second factor. `POST /login/second-factor` takes this token and
     * a code.
     */
    readonly secondFactor?: AskedSecondFactor
  }
}

declare module './options.js' {
  interface AuthnOptions<Stored extends object> {
    /**
     * Two-factor authentication (2FA, MFA) with codes of an authenticator app. It is stored in one column of the app. Needs
     * `sessions`, `userService` and `login.subject`. Default: none.
     */
    secondFactor?: SecondFactorOptions<Stored> | undefined
  }
}

declare module './authn.js' {
  interface AuthnFeatures {
    /** The option `secondFactor` is set. */
    secondFactor: true
  }
  interface AuthnStats {
    /** Set only with the option `secondFactor`. */
    readonly secondFactor?: SecondFactorStats
  }
  interface Authn {
    /**
     * Removes second factors.
     *
     * @throws ERR_AUTH_OPTION when it is read without the option `secondFactor`; {@link Authn.features} says whether it is set
     */
    readonly secondFactor: SecondFactor
  }
}

declare module './errors.js' {
  interface RejectionCodes {
    /** The code of a second factor is wrong, or was used before. */
    ERR_AUTH_CODE_INVALID: 403
  }
  interface FaultCodes {
    /** A stored second factor cannot be read, its field is missing, or `secondFactor.update` has failed. */
    ERR_AUTH_SECOND_FACTOR: 500
  }
}

declare module './messages.js' {
  interface Catalogue {
    /** This code is wrong, or was used before. */
    readonly 'auth.code-invalid': string
  }
}

declare module './events.js' {
  interface AuthnEvents {
    /** A second factor was changed, or a code was wrong. */
    readonly secondFactor: SecondFactorEvent
  }
}
