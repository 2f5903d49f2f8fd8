// @fastify/passport with passport-jwt.
import { Authenticator } from '@fastify/passport'
import Fastify from 'fastify'
import { ExtractJwt, Strategy } from 'passport-jwt'
import { secretOrKey } from './secret.mjs'
import { findUser, serve, user0 } from './serve.mjs'

const passport = new Authenticator()
const options = {
  jwtFromRequest: ExtractJwt.fromAuthHeaderAsBearerToken(),
  secretOrKey,
  algorithms: ['HS256'],
}
passport.use(
  'jwt',
  new Strategy(options, (claims, done) => {
    findUser(claims.sub).then((user) => done(null, user ?? false), done)
  }),
)

const app = Fastify()
// It insists on a session, which tokens do without.
app.decorateRequest('session', null)
await app.register(passport.initialize())
app.get('/open', async () => ({ name: user0.name }))
app.get(
  '/protected',
  { preValidation: passport.authenticate('jwt', { session: false }) },
  async (request) => ({ name: request.user.name }),
)
await app.listen({ host: '127.0.0.1', port: 0 })
serve(app.server.address().port)
