import t, { type Test } from 'tap'
import { buildApp, usersOf } from './several-authenticators.js'
import {
  alice,
  basic,
  basicChallenge,
  bearerChallenge,
  expectAnswer,
  login,
  noCredentials,
  notAccepted,
  rejection,
  tokenChallenge,
  welcome,
  wrongCredentials,
} from './support/expected.js'

const sensor = { name: 'sensor-7', password: 'a-long-random-text' }

async function setUp(t: Test) {
  const people = await usersOf([alice.name, alice.password])
  const machines = await usersOf([sensor.name, sensor.password])
  const app = await buildApp({ people, machines })
  t.teardown(() => app.close())
  return { app, answer: expectAnswer(t, app), token: await login(t, app, '/login', alice) }
}

t.test('people log in and use tokens', async (t) => {
  const { answer, token } = await setUp(t)
  const url = '/me'
  await answer({ url, headers: token }, 200, { id: 1, username: 'alice' }, welcome)
  await answer({ url }, 401, noCredentials, rejection())
  await answer({ url, headers: basic(sensor) }, 401, noCredentials, rejection())
  await answer({ url, headers: basic(alice) }, 401, noCredentials, rejection())
})

t.test('machines use Basic, and cannot log in', async (t) => {
  const { app, answer, token } = await setUp(t)
  const request = { method: 'POST', url: '/readings' } as const
  await answer({ ...request, headers: basic(sensor) }, 202, { from: 'sensor-7' }, welcome)
  await answer(request, 401, noCredentials, rejection(basicChallenge))
  await answer({ ...request, headers: token }, 401, notAccepted, rejection(basicChallenge))
  const person = { ...request, headers: basic(alice) }
  await answer(person, 401, wrongCredentials, rejection(basicChallenge))
  const payload = { username: sensor.name, password: sensor.password }
  await answer({ method: 'POST', url: '/login', payload }, 401, wrongCredentials, rejection())
  // A token in the name of a machine, from whatever else signs with the secret.
  const forged = { authorization: `Bearer ${app.jwtService.generateToken(sensor.name)}` }
  const challenged = rejection(tokenChallenge('The token is not accepted'))
  await answer({ url: '/me', headers: forged }, 401, wrongCredentials, challenged)
})

t.test('a route for both accepts tokens and Basic', async (t) => {
  const { answer, token } = await setUp(t)
  const url = '/readings'
  const both = [bearerChallenge, basicChallenge]
  await answer({ url, headers: token }, 200, { reader: 'alice' }, welcome)
  await answer({ url, headers: basic(sensor) }, 200, { reader: 'sensor-7' }, welcome)
  await answer({ url }, 401, noCredentials, rejection(both))
  await answer({ url, headers: basic(alice) }, 401, wrongCredentials, rejection(both))
})
