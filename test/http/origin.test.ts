import t from 'tap'
import { isOrigin, isOwnOrigin } from '../../lib/http/origin.js'

t.test('isOrigin() accepts exactly what browsers write as Origin', async (t) => {
  const good = [
    'https://shop.example',
    'http://shop.example',
    'https://shop.example:8443',
    'http://localhost:5173',
    'http://[::1]:3000',
    'https://xn--bcher-kva.example',
    'capacitor://localhost',
    'chrome-extension://abcdefghijklmnop',
  ]
  for (const text of good) t.ok(isOrigin(text), text)
  const bad = [
    '',
    'null',
    '*',
    'https://*.shop.example',
    'https://shop.example/',
    'https://shop.example/path',
    'https://shop.example:443',
    'https://Shop.example',
    'https://bücher.example',
    'https://user@shop.example',
    'https://',
    'https:shop.example',
    'shop.example',
    'https://shop.example ',
    'https://shop.example, https://other.example',
    'https://shop.example:99999',
    'capacitor://',
    'capacitor://*',
    'javascript:alert(1)',
  ]
  for (const text of bad) t.notOk(isOrigin(text), text)
})

t.test('isOwnOrigin() matches scheme, host and port of the server', async (t) => {
  const rows: [origin: string, protocol: string, host: string, isOwn: boolean][] = [
    ['https://shop.example', 'https', 'shop.example', true],
    ['http://[::1]:3000', 'http', '[::1]:3000', true],
    // Clients and proxies may name the default port in Host.
    ['https://shop.example', 'https', 'shop.example:443', true],
    ['http://localhost', 'http', 'localhost:80', true],
    ['https://shop.example', 'https', 'shop.example:80', false],
    ['https://shop.example:443', 'https', 'shop.example', false],
    ['https://shop.example', 'http', 'shop.example', false],
    ['https://shop.example:1', 'https', 'shop.example:2', false],
    ['https://shop.example', 'https', 'shop.example.evil.example', false],
    ['https://evil.example', 'https', 'shop.example', false],
    ['https://SHOP.example', 'https', 'shop.example', false],
    ['null', 'https', 'shop.example', false],
    ['', 'https', 'shop.example', false],
    ['https://shop.example, https://shop.example', 'https', 'shop.example', false],
    // What Traefik says of WebSockets.
    ['https://shop.example', 'wss', 'shop.example', true],
    ['http://localhost:3000', 'ws', 'localhost:3000', true],
    ['https://shop.example', 'ws', 'shop.example', false],
    ['wss://shop.example', 'wss', 'shop.example', false],
    ['ftp://shop.example', 'ftp', 'shop.example:21', false],
    ['https://shop.example', 'constructor', 'shop.example', false],
  ]
  for (const [origin, protocol, host, isOwn] of rows) {
    t.equal(isOwnOrigin(origin, protocol, host), isOwn, `${origin} at ${protocol}://${host}`)
  }
})
