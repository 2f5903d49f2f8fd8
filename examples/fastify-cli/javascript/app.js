const path = require('node:path')
const autoload = require('@fastify/autoload')

module.exports = async function app(fastify, options) {
  fastify.register(autoload, { dir: path.join(__dirname, 'plugins'), options: { ...options } })
  fastify.register(autoload, { dir: path.join(__dirname, 'routes'), options: { ...options } })
}
