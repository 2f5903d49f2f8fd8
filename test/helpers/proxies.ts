// Runs nginx and Caddy with the files that pages show, in front of servers of the test.
import { spawn } from 'node:child_process'
import { generateKeyPairSync } from 'node:crypto'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import http, { type IncomingHttpHeaders } from 'node:http'
import https from 'node:https'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { text } from 'node:stream/consumers'
import type { Test } from 'tap'
import { certificateOf, pemOf } from './certificate.js'
import { until } from './load.js'
import { findProgram } from './programs.js'
import { blocksOf, readPage, type Block } from './readme.js'
import { freePort } from './redis-server.js'

/** The pages that show a file for each of them. test/proxies.test.ts tries what these pages promise. */
export const proxiedPages = ['docs/guides/deployment.md', 'docs/start/spa.md'] as const
export const proxyNames = ['nginx', 'Caddy'] as const
export type ProxiedPage = (typeof proxiedPages)[number]
export type ProxyName = (typeof proxyNames)[number]

/** What the comment before a block says that one of them is run with. */
export const markerOf = (name: ProxyName): string => `run with ${name}`

/** Whether such a comment is before the block, on a page whose blocks are run. */
export const isProxied = ({ page, marker }: Block): boolean =>
  proxiedPages.some((each) => each === page) && proxyNames.some((name) => markerOf(name) === marker)

/** What a request is, if not a GET from 127.0.0.1. */
interface Asked {
  readonly method?: string
  readonly headers?: Readonly<Record<string, string | readonly string[]>>
  /** Sent as JSON. */
  readonly body?: object
  /** The address of the client. Linux has all of 127.0.0.0/8. */
  readonly from?: string
}

interface Answer {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly body: string
}

/** What stands in for what the page says. */
interface Places {
  /** Ports, by those of the page. */
  readonly ports: Readonly<Record<number, number>>
  /** The folder for that below /srv. */
  readonly files?: string
}

/**
 * Starts a program, and ends it with this signal when its input ends: also when this process is killed, as tap does it
 * after its time-out.
 */
const shell = '"$@" & exec 2>&-; read -r line; kill -s "$0" $!; wait'

/** Starts one, which ends with the test. */
export async function startProxy(
  t: Pick<Test, 'teardown'>,
  name: ProxyName,
  page: ProxiedPage,
  { ports, files = '' }: Places,
) {
  const folder = mkdtempSync(path.join(tmpdir(), 'fastify-authn-proxy-'))
  const [httpPort, httpsPort] = [await freePort(), await freePort()]
  const text = replaced(
    replaced(fileOf(page, name), /(?<=\b127\.0\.0\.1:)\d+/g, (port) => ports[Number(port)]),
    /\/srv\/\w+/g,
    () => files || undefined,
  )
  const { args, authority, signal } = { nginx: prepareNginx, Caddy: prepareCaddy }[name]({
    folder,
    text,
    httpPort,
    httpsPort,
  })
  const child = spawn('sh', ['-c', shell, signal, String(findProgram(name)), ...args], {
    cwd: folder,
    // Below these folders they keep what they write.
    env: { PATH: process.env.PATH, HOME: folder, XDG_DATA_HOME: folder, XDG_CONFIG_HOME: folder },
    stdio: ['pipe', 'ignore', 'pipe'],
  })
  let printed = ''
  let hasEnded = false
  child.stderr.setEncoding('utf8').on('data', (words: string) => {
    printed += words
  })
  child.stderr.on('end', () => {
    hasEnded = true
  })
  const closed = once(child, 'close')
  t.teardown(async () => {
    child.stdin.end()
    await closed
    rmSync(folder, { recursive: true, force: true })
  })

  /** Asks it for a URL of the page, whose host and port are those that the page says. */
  const ask = (url: string, asked: Asked = {}): Promise<Answer> => {
    const ca = existsSync(authority) ? readFileSync(authority) : undefined
    return askAt(url, asked, { 'http:': httpPort, 'https:': httpsPort }, ca)
  }
  const answers = hostsOf(text).map((host) => async () => {
    if (hasEnded) throw new Error(`${name} has ended:\n${printed}`)
    return ask(`https://${host}/`).then(
      () => true,
      () => false,
    )
  })
  // Caddy makes the certificates of its hosts one after the other.
  for (const answer of answers) await until(answer, `${name} answers`)
  return { httpsPort, ask }
}

/** The only block of a page that is run with this program. */
function fileOf(page: ProxiedPage, name: ProxyName): string {
  const found = blocksOf(readPage(page), page).filter(({ marker }) => marker === markerOf(name))
  const [block] = found
  if (block === undefined || found.length > 1) {
    throw new Error(`${page} has ${found.length} blocks with the comment "${markerOf(name)}"`)
  }
  return block.text
}

/** @throws for what has nothing in its place: it could be a port or a file of this machine */
function replaced(
  text: string,
  pattern: RegExp,
  place: (found: string) => string | number | undefined,
): string {
  return text.replaceAll(pattern, (found: string) => {
    const other = place(found)
    if (other === undefined) throw new Error(`the test has nothing in place of ${found}`)
    return String(other)
  })
}

/** Names of hosts, all of which end with `.example` on pages. */
const hostsOf = (text: string): string[] => [
  ...new Set(text.match(/(?<![/.\w])[\w.]+\.example(?=;| \{)/g)),
]

interface Site {
  readonly folder: string
  readonly text: string
  readonly httpPort: number
  readonly httpsPort: number
}

interface Prepared {
  readonly args: readonly string[]
  /** A file with the certificate that clients trust. */
  readonly authority: string
  /** Ends it at once, with its children. */
  readonly signal: 'TERM' | 'KILL'
}

/** In a frame as a distribution has it, whose files are here, and with a certificate for the hosts. */
function prepareNginx({ folder, text, httpPort, httpsPort }: Site): Prepared {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const certificate = certificateOf(privateKey, publicKey, hostsOf(text))
  const authority = path.join(folder, 'site.pem')
  writeFileSync(authority, pemOf('CERTIFICATE', certificate))
  writeFileSync(
    path.join(folder, 'site.key'),
    privateKey.export({ type: 'pkcs8', format: 'pem' }),
    { mode: 0o600 },
  )
  const ports: Record<number, number> = { 80: httpPort, 443: httpsPort }
  const listening = replaced(text, /(?<=\blisten )\d+/g, (port) => {
    const other = ports[Number(port)]
    return other && `127.0.0.1:${other}`
  })
  const site = replaced(listening, /\/etc\/ssl\/\S+(?=\.(?:pem|key);)/g, () => `${folder}/site`)
  // Workers of another user could not read what the test has made.
  const user = process.getuid?.() === 0 ? 'user root;' : ''
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
  writeFileSync(
    path.join(folder, 'nginx.conf'),
    `${user}
daemon off;
worker_processes 1;
pid nginx.pid;
events {}
http {
types { text/html html; text/javascript js; }
access_log off;
${temporary.map((name) => `${name}_temp_path ${name};`).join('\n')}
${site}
}
`,
  )
  const args = ['-p', folder, '-c', 'nginx.conf', '-e', 'stderr']
  return { args, authority, signal: 'TERM' }
}

/** With an authority of its own where it would ask a public one, and that authority is not made one of this machine. */
function prepareCaddy({ folder, text, httpPort, httpsPort }: Site): Prepared {
  writeFileSync(
    path.join(folder, 'Caddyfile'),
    `{
  admin off
  local_certs
  skip_install_trust
  default_bind 127.0.0.1
  http_port ${httpPort}
  https_port ${httpsPort}
}
${text}
`,
  )
  return {
    args: ['run', '--config', 'Caddyfile', '--adapter', 'caddyfile'],
    authority: path.join(folder, 'caddy/pki/authorities/local/root.crt'),
    // At TERM it waits for its clients.
    signal: 'KILL',
  }
}

function askAt(
  url: string,
  { method = 'GET', headers = {}, body, from }: Asked,
  ports: Readonly<Record<string, number>>,
  ca: Buffer | undefined,
): Promise<Answer> {
  const { protocol, hostname, pathname, search } = new URL(url)
  const options = {
    method,
    host: '127.0.0.1',
    port: ports[protocol],
    path: pathname + search,
    servername: hostname,
    headers: {
      host: hostname,
      ...(body && { 'content-type': 'application/json' }),
      ...(headers as Record<string, string | string[]>),
    },
    agent: false,
    timeout: 10_000,
    ...(from !== undefined && { localAddress: from }),
    ...(ca && { ca }),
  } as const
  return new Promise((resolve, reject) => {
    const request = protocol === 'https:' ? https.request(options) : http.request(options)
    request.on('timeout', () => request.destroy(new Error(`no answer from ${url}`)))
    request.on('error', reject)
    request.on('response', (response) => {
      const { statusCode, headers } = response
      text(response).then((body) => resolve({ status: Number(statusCode), headers, body }), reject)
    })
    request.end(body && JSON.stringify(body))
  })
}
