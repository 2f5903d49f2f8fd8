import awsLambdaFastify from '@fastify/aws-lambda'
import Fastify from 'fastify'
import authn, { configFromEnv } from 'fastify-authn'
import { users } from './users.js'

const app = Fastify({ logger: true })
await app.register(authn, { ...configFromEnv(), userService: users })

app.get('/me', { config: { auth: true } }, (request) => ({
  name: request.user.name,
  address: request.ip,
}))

export const handler = awsLambdaFastify(app)
// Keys are read and access rules checked while the instance starts, not in the first request.
await app.ready()
