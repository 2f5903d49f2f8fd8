// What the libraries are asked to do: a case is { algorithm, task, library, operate }.
import { createHmac, createPrivateKey, createPublicKey, createSecretKey } from 'node:crypto'
import { sign, timingSafeEqual, verify } from 'node:crypto'
import { createSigner, createVerifier } from 'fast-jwt'
import { jwtVerify, SignJWT } from 'jose'
import jsonwebtoken from 'jsonwebtoken'
import { JwtService } from '../../dist/esm/lib/index.js'

/** @returns the cases of each algorithm */
export function algorithmsOf(keys) {
  return Promise.all(Object.values(keys).map(casesOf))
}

async function casesOf(key) {
  const { algorithm } = key
  const claims = { sub: 'user0', exp: Math.floor(Date.now() / 1000) + 86_400 }
  const pair = keyObjects(key)
  const libraries = [
    ...ours(key, claims),
    ...fastJwt(key, claims),
    jose(algorithm, pair, claims),
    // It has no EdDSA.
    ...(algorithm === 'EdDSA' ? [] : [jsonWebToken(algorithm, pair, claims)]),
    bare(algorithm, pair, claims),
  ]
  const bytes = Buffer.from(await libraries.at(-1).sign())
  const cases = libraries.flatMap(({ library, sign, verify }) => [
    // A new text each time, as it comes from a header.
    { algorithm, task: 'verify', library, operate: () => verify(bytes.latin1Slice()) },
    ...(sign ? [{ algorithm, task: 'sign', library, operate: sign }] : []),
  ])
  for (const { operate } of cases) await operate()
  return cases
}

function keyObjects(key) {
  if (key.secret !== undefined) {
    const secret = createSecretKey(Buffer.from(key.secret))
    return { private: secret, public: secret }
  }
  return { private: createPrivateKey(key.private), public: createPublicKey(key.public) }
}

function ours({ algorithm, secret, ...pair }, claims) {
  const sources = {
    HS256: { secret },
    RS256: { rsa: pairOf(pair) },
    ES256: { ecdsa: pairOf(pair) },
    EdDSA: { eddsa: pairOf(pair) },
  }
  const config = { signingMethod: algorithm, ...sources[algorithm] }
  const service = new JwtService(config)
  const forgetful = new JwtService({ ...config, rememberTokens: false })
  return [
    {
      library: 'fastify-authn, token seen before',
      verify: (token) => service.verify(token),
    },
    {
      library: 'fastify-authn, rememberTokens: false',
      sign: () => service.generateTokenWithClaims(claims),
      verify: (token) => forgetful.verify(token),
    },
  ]
}

const pairOf = (key) => ({ private: key.private, public: key.public })

function fastJwt({ algorithm, secret, ...pair }, claims) {
  const verifier = { key: secret ?? pair.public, algorithms: [algorithm] }
  return [
    { library: 'fast-jwt, cache', verify: createVerifier({ ...verifier, cache: true }) },
    {
      library: 'fast-jwt',
      sign: (
        (signer) => () =>
          signer(claims)
      )(createSigner({ key: secret ?? pair.private, algorithm })),
      verify: createVerifier(verifier),
    },
  ]
}

function jose(algorithm, pair, claims) {
  const options = { algorithms: [algorithm] }
  return {
    library: 'jose',
    sign: () => new SignJWT(claims).setProtectedHeader({ alg: algorithm }).sign(pair.private),
    verify: (token) => jwtVerify(token, pair.public, options),
  }
}

function jsonWebToken(algorithm, pair, claims) {
  const options = { algorithms: [algorithm] }
  return {
    library: 'jsonwebtoken, KeyObject',
    sign: () => jsonwebtoken.sign(claims, pair.private, { algorithm }),
    verify: (token) => jsonwebtoken.verify(token, pair.public, options),
  }
}

/** The least that there is to do: the signature, and the claims out of their JSON. */
function bare(algorithm, pair, claims) {
  const signInput = signatureOf(algorithm, pair)
  const isGood = verifierOf(algorithm, pair)
  const encode = (value) => Buffer.from(JSON.stringify(value)).toString('base64url')
  const header = encode({ alg: algorithm, typ: 'JWT' })
  return {
    library: 'node:crypto',
    sign() {
      const input = `${header}.${encode(claims)}`
      return `${input}.${signInput(input).toString('base64url')}`
    },
    verify(token) {
      const end = token.lastIndexOf('.')
      const signature = Buffer.from(token.slice(end + 1), 'base64url')
      if (!isGood(token.slice(0, end), signature)) throw new Error('forged')
      const payload = token.slice(token.indexOf('.') + 1, end)
      return JSON.parse(Buffer.from(payload, 'base64url').toString())
    },
  }
}

const digestOf = (algorithm) => (algorithm === 'EdDSA' ? null : 'sha256')
const parametersOf = (algorithm, key) => ({
  key,
  ...(algorithm === 'ES256' && { dsaEncoding: 'ieee-p1363' }),
})

function signatureOf(algorithm, pair) {
  if (algorithm === 'HS256') {
    return (input) => createHmac('sha256', pair.private).update(input).digest()
  }
  const parameters = parametersOf(algorithm, pair.private)
  return (input) => sign(digestOf(algorithm), Buffer.from(input), parameters)
}

function verifierOf(algorithm, pair) {
  if (algorithm === 'HS256') {
    const signInput = signatureOf(algorithm, pair)
    return (input, signature) => timingSafeEqual(signInput(input), signature)
  }
  const parameters = parametersOf(algorithm, pair.public)
  return (input, signature) =>
    verify(digestOf(algorithm), Buffer.from(input), parameters, signature)
}
