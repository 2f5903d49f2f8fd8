// Users who have an authenticator app from another system: they type its code once more, and then set up a new one.
import { createHmac } from 'node:crypto'
import Fastify from 'fastify'
import authn, { AuthenticationError } from 'fastify-authn'
import { one } from './database.js' // the first row, or undefined

export const app = Fastify()
const { AUTH_JWT_SECRET: secret, SECOND_FACTOR_KEY: key = '' } = process.env

/** The code of 30 seconds, by RFC 6238. */
function codeOf(secretInBase32: string, period: number): string {
  const letters = Array.from(secretInBase32.toUpperCase().replaceAll(/[\s=]/g, ''))
  const bits = letters
    .map((letter) => 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'.indexOf(letter))
    .map((value) => value.toString(2).padStart(5, '0'))
    .join('')
  const bytes = bits.match(/.{8}/g)?.map((byte) => Number.parseInt(byte, 2)) ?? []
  const counter = Buffer.alloc(8)
  counter.writeBigUInt64BE(BigInt(period))
  const digest = createHmac('sha1', Buffer.from(bytes)).update(counter).digest()
  const start = (digest.at(-1) ?? 0) & 15
  return String((digest.readUInt32BE(start) & 0x7f_ff_ff_ff) % 1_000_000).padStart(6, '0')
}

// Counted before the code is compared: five tries in all, however many arrive at once.
const count = `update users set old_totp_tries = old_totp_tries + 1
where id = $1 and old_totp_tries < 5 returning old_totp as "oldTotp"`
const reset = 'update users set old_totp_tries = 0 where id = $1'

async function requireOldCode(id: number, code: unknown): Promise<void> {
  if (code === undefined) throw new AuthenticationError('Please enter the code of your app.')
  const row = (await one(count, [id])) as { oldTotp: string } | undefined
  const now = Math.floor(Date.now() / 30_000)
  const codes = row === undefined ? [] : [-1, 0, 1].map((each) => codeOf(row.oldTotp, now + each))
  if (typeof code !== 'string' || !codes.includes(code))
    throw new AuthenticationError('This code is wrong.')
  await one(reset, [id])
}

await app.register(authn, {
  userService: {
    findByUsername: (name) =>
      one('select * from users where id::text = $1 or email = lower($1)', [String(name)]),
  },
  jwt: { secret },
  login: {
    usernameField: 'email',
    subject: (user) => user.id,
    // It is called after the right password.
    async claims(request, user) {
      const { old_totp: hasOld, secondFactor } = user as unknown as Record<string, unknown>
      const isLogin = request.routeOptions.url === '/login'
      if (isLogin && typeof hasOld === 'string' && secondFactor === null) {
        const { code } = Object(request.body) as { code?: unknown }
        await requireOldCode(user.id, code)
      }
      return {}
    },
  },
  sessions: true,
  cookies: true,
  secondFactor: {
    key,
    issuer: 'Shop',
    update: (user, after, before) =>
      one(
        `update users set "secondFactor" = $1, old_totp = null
         where id = $2 and "secondFactor" is not distinct from $3 returning id`,
        [after, user.id, before],
      ),
  },
})
await app.listen({ port: Number(process.env.PORT) })
