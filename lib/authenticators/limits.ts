/** The key of what no user of an authenticator can meet. An app that wraps one by spreading it keeps it. */
export const kNeverMeets = Symbol('fastify-authn.never-meets')

export interface Limited {
  [kNeverMeets]?: readonly ('mfa' | 'fresh')[]
}
