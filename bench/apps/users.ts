declare module 'fastify-authn' {
  interface AuthUser {
    name: string
  }
  interface StoredUser {
    password: string
  }
}

/** The users `user0`, `user1` and so on, one a hash. */
export function usersOf(
  hashes: readonly string[],
): Map<string, { name: string; password: string }> {
  const users = hashes.map((password, index) => ({ name: `user${index}`, password }))
  return new Map(users.map((user) => [user.name, user]))
}
