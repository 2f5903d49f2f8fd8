import { join } from 'node:path'
import autoload, { type AutoloadPluginOptions } from '@fastify/autoload'
import type { FastifyPluginAsync } from 'fastify'

const app: FastifyPluginAsync<Partial<AutoloadPluginOptions>> = async (fastify, options) => {
  void fastify.register(autoload, { dir: join(__dirname, 'plugins'), options })
  void fastify.register(autoload, { dir: join(__dirname, 'routes'), options })
}

export default app
