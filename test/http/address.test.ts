import t from 'tap'
import { secureAddress } from '../../lib/http/address.js'

t.test('a secure address is https, or http on loopback', async (t) => {
  for (const text of [
    'https://id.example.com',
    'https://id.example.com:8443/realms/corp?x=1',
    'http://127.0.0.1:8080/keys',
    'http://127.8.9.10/',
    'http://[::1]:9/',
    'http://localhost:3000/realms/corp',
  ]) {
    t.equal(secureAddress(text)?.href, new URL(text).href, text)
  }
})

t.test('an address that is not https, not on loopback or malformed is rejected', async (t) => {
  for (const text of [
    'http://id.example.com',
    'http://169.254.169.254/latest/meta-data',
    'http://0.0.0.0/',
    'http://[::ffff:127.0.0.1]/',
    'http://127.0.0.1.example.com/',
    'http://localhost.example.com/',
    'https://user@id.example.com/',
    'http://127.0.0.1@id.example.com/',
    'https://id.example.com/#part',
    'https://id.example.com#',
    ' https://id.example.com/',
    'https:\\\\id.example.com',
    'https://id.example.com\n/',
    'file:///etc/passwd',
    'data:application/json,{}',
    '//id.example.com',
    'id.example.com',
    '',
  ]) {
    t.equal(secureAddress(text), null, JSON.stringify(text))
  }
})
