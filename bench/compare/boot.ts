import { Child } from '../support/child.js'
import { keys } from './keys.js'
import { table } from './markdown.js'
import { majors, nodeProgram } from './nodes.js'
import { spreadOf, type Spread } from './rounds.js'
import { peerAddress } from './server.js'
import { authnFor } from './variants.js'

interface Boot {
  /** Milliseconds of processor time from the first import to an app that is ready. */
  readonly time: number
  readonly rss: number
  readonly heapUsed: number
}

const node = majors[0]

const pairOf = ({ private: own, public: common }: (typeof keys)['RS256']): object => ({
  private: own,
  public: common,
})
const allKeys = {
  secret: keys.HS256.secret,
  rsa: pairOf(keys.RS256),
  ecdsa: pairOf(keys.ES256),
}

const apps = {
  'Fastify alone': { plugin: 'bare' },
  'fastify-authn, HMAC': { plugin: 'ours', authn: authnFor('HS256') },
  'fastify-authn, HMAC, without users': {
    plugin: 'ours',
    hasUsers: false,
    authn: authnFor('HS256'),
  },
  'fastify-authn, HMAC, RSA and ECDSA': { plugin: 'ours', authn: { jwt: allKeys } },
  '@fastify/jwt, HMAC': { plugin: 'fastifyJwt', key: keys.HS256 },
}
type Name = keyof typeof apps
const names = Object.keys(apps) as Name[]

export interface BootResult {
  readonly markdown: string
  /** What our plugin adds to the boot of Fastify with HMAC, as a multiple of what @fastify/jwt adds. */
  readonly ratio: number
}

/** Boots each app in a process of its own, over and over in turn. */
export async function runBoot(rounds: number): Promise<BootResult> {
  const found = new Map<Name, Boot[]>(names.map((name) => [name, []]))
  for (let round = 0; round < rounds; round += 1) {
    for (const name of names) found.get(name)?.push(await bootOnce(apps[name]))
  }
  const spread = (name: Name, of: (boot: Boot) => number): Spread =>
    spreadOf((found.get(name) ?? []).map(of))
  const time = (name: Name): number => spread(name, (boot) => boot.time).median
  const added = (name: Name): number => time(name) - time('Fastify alone')
  const rows = names.map((name) => {
    const { low, high } = spread(name, (boot) => boot.time)
    const mib = (of: (boot: Boot) => number): string =>
      (spread(name, of).median / 2 ** 20).toFixed(1)
    const cells = [
      time(name).toFixed(0),
      `${low.toFixed(0)}–${high.toFixed(0)}`,
      added(name).toFixed(0),
    ]
    return [name, ...cells, mib(({ heapUsed }) => heapUsed), mib(({ rss }) => rss)]
  })
  return {
    markdown: table(
      [
        `Node ${node}`,
        'boot, ms of processor time',
        'interquartile range',
        'added, ms',
        'heap, MiB',
        'resident, MiB',
      ],
      rows,
    ),
    ratio: added('fastify-authn, HMAC') / added('@fastify/jwt, HMAC'),
  }
}

async function bootOnce(settings: object): Promise<Boot> {
  const child = await Child.start(peerAddress('boot'), settings, {
    execArgv: ['--expose-gc'],
    execPath: nodeProgram(node),
  })
  const boot = await child.ask<Boot>('boot')
  await child.end()
  return boot
}
