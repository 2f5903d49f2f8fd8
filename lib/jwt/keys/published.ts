/** Secrets of 256 bits or more that are printed in documentation or in popular examples, so that everybody knows them. */
export const published: ReadonlySet<string> = new Set([
  // Documentation of this package.
  'replace me by 32 or more random bytes',
  'a-secret-of-at-least-32-bytes-here',
  // RFC 7515 appendix A.1, RFC 7520 section 3.5.
  'AyM1SysPpbyDfgZld3umj1qzKObwVMkoqQ-EstJQLr_T-1qS0gZH75aKtMN3Yj0iPS4hcgUuTwjAzZr1Z9CAow',
  'hJtXIZ2uSN5kbQfbtTNWbpdmhkV8FJG-Onbc6mxCcYg',
  // jwt.io.
  'a-string-secret-at-least-256-bits-long',
  'a-valid-string-secret-that-is-at-least-512-bits-long-which-is-very-long',
  'your-256-bit-secret-your-256-bit-secret',
  // Tutorials of FastAPI and of Spring Boot.
  '09d25e094faa6ca2556c818166b7a9563b93f7099f6f0f4caa6cf63b88e8d3e7',
  '404E635266556A586E3272357538782F413F4428472B4B6250645367566B5970',
  '413F4428472B4B6250655368566D5970337336763979244226452948404D6351',
])
