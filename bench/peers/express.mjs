// Express 5 with express-jwt.
import express from 'express'
import { expressjwt } from 'express-jwt'
import { secretOrKey } from './secret.mjs'
import { findUser, serve, user0 } from './serve.mjs'

const app = express()

async function loadUser(request, response, next) {
  request.user = await findUser(request.auth.sub)
  if (request.user === undefined) return response.status(401).json({ error: 'Unauthorized' })
  next()
}

app.get('/open', async (request, response) => response.json({ name: user0.name }))
app.get(
  '/protected',
  expressjwt({ secret: secretOrKey, algorithms: ['HS256'] }),
  loadUser,
  async (request, response) => response.json({ name: request.user.name }),
)
// Express knows error handlers by their four parameters.
app.use((error, request, response, _next) => {
  response.status(error.status ?? 500).json({ error: error.message })
})
const server = app.listen(0, '127.0.0.1', () => serve(server.address().port))
