// First, since fastify-cli makes the app as soon as this file is loaded.
require('fastify-authn')
const path = require('node:path')
const autoload = require('@fastify/autoload')

module.exports = async function app(fastify, options) {
  fastify.register(autoload, { dir: path.join(__dirname, 'plugins'), options: { ...options } })
  fastify.register(autoload, { dir: path.join(__dirname, 'routes'), options: { ...options } })
}
