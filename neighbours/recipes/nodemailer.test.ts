import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { test } from 'node:test'
import Fastify from 'fastify'
import authn from 'fastify-authn'
import { SMTPServer } from 'smtp-server'
import { smtpMailer } from './nodemailer.js'

test('mails of accounts go to an SMTP server; without it, the client sees no difference', async (t) => {
  const received: { to: string[]; message: string }[] = []
  const smtp = new SMTPServer({
    authOptional: true,
    disabledCommands: ['STARTTLS'],
    async onData(stream, { envelope }, done) {
      const message = await text(stream)
      received.push({ to: envelope.rcptTo.map(({ address }) => address), message })
      done()
    },
  })
  const server = smtp.listen(0, '127.0.0.1')
  await new Promise((resolve) => server.on('listening', resolve))
  const { port } = server.address() as AddressInfo
  const { sendMail, close } = smtpMailer(`smtp://127.0.0.1:${port}`, 'Shop <no-reply@shop.example>')
  const app = Fastify()
  await app.register(authn, {
    userService: { findByUsername: () => null },
    jwt: { secret: randomBytes(64) },
    login: { subject: () => 1 },
    sessions: true,
    accounts: {
      url: 'https://shop.example/account',
      create: () => true,
      update: () => true,
      sendMail,
    },
  })
  t.after(async () => {
    close()
    await app.close()
  })
  const signUp = async (email: string) => {
    const response = await app.inject({ method: 'POST', url: '/sign-up', payload: { email } })
    await app.authn.accounts.settled()
    return response.statusCode
  }
  assert.equal(await signUp('alice@example.com'), 202)
  const [{ to, message } = { to: [], message: '' }] = received
  assert.deepEqual(to, ['alice@example.com'])
  assert.match(message, /^From: Shop <no-reply@shop\.example>/m)
  assert.match(message, /^Subject: Finish your sign-up/m)
  assert.match(message, /https:\/\/shop\.example\/account\/sign-up#/)

  await new Promise<void>((resolve) => smtp.close(resolve))
  assert.equal(await signUp('bob@example.com'), 202)
  assert.equal(app.authn.stats().accounts?.mailsFailed, 1)
})
