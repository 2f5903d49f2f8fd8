// What a route of the plugin says of a body that does not fit its schema.
import * as Type from '@sinclair/typebox/type'
import t from 'tap'
import { checkBody } from '../../lib/login/schema.js'

const secret = 'hunter2-hunter2'
const kinds = { description: 'one of link, code' }
const rows: [schema: Type.TSchema, value: unknown, means: RegExp][] = [
  [Type.String(), 1, /be string$/],
  [Type.String(), undefined, /be string$/],
  [Type.Object({}), [], /be object$/],
  [Type.Boolean(), 'true', /be boolean$/],
  [Type.String({ minLength: 1 }), '', /fewer than 1 /],
  [Type.String({ minLength: 90 }), secret, /fewer than 90 /],
  [Type.String({ maxLength: 3 }), secret, /more than 3 /],
  [Type.String({ pattern: '^[0-9]{6}$' }), secret, /\[0-9\]\{6\}/],
  [Type.String({ pattern: '^[0-9]{6}$', description: 'six digits' }), secret, /be six digits$/],
  [Type.Union([Type.Literal('link'), Type.Literal('code')], kinds), secret, /one of link, code$/],
  [Type.Union([Type.Literal('link'), Type.Literal('code')]), secret, /match its schema/],
  [Type.Literal('link'), secret, /link/],
  [Type.Integer({ minimum: 1, maximum: 9 }), 0, /1/],
  [Type.Integer({ minimum: 1, maximum: 9 }), 10, /9/],
  [Type.Array(Type.String(), { minItems: 2 }), [], /2/],
  [Type.Array(Type.String(), { uniqueItems: true }), [secret, secret], /unique/],
  [Type.Object({}, { additionalProperties: false }), { [secret]: 1 }, /members/],
]

t.test('the error of a body says what is wrong, whichever keyword it is of', async (t) => {
  for (const [at, [schema, value, means]] of rows.entries()) {
    const error = { statusCode: 0, message: '' }
    try {
      checkBody(Type.Object({ member: schema }), { member: value })
    } catch (thrown) {
      Object.assign(error, thrown, { message: (thrown as Error).message })
    }
    t.equal(error.statusCode, 400, `row ${at}`)
    t.match(error.message, /^body\/member\S* must /)
    t.match(error.message, means)
    t.notMatch(error.message, /undefined/)
    t.notMatch(error.message.replace(/^\S+/, ''), secret, 'the value is not quoted')
  }
})
