import swagger from '@fastify/swagger'
import { Validator } from '@seriousme/openapi-schema-validator'
import Fastify from 'fastify'
import type { Test } from 'tap'
import { authn, type AuthnOptions } from '../../lib/index.js'

/** One for all documents: it compiles the schema of each version of OpenAPI once, which takes half a second. */
const validator = new Validator()

/** What the validator found in the last document; one after the other, since it keeps that itself. */
let last: Promise<unknown> = Promise.resolve()

/** Whether a document is valid OpenAPI, and the document as the validator has read it. */
export function validated(
  document: object | string,
): Promise<{ readonly result: object; readonly specification: unknown }> {
  const checked = last.then(async () => {
    const result = await validator.validate(
      structuredClone(document) as Parameters<Validator['validate']>[0],
    )
    return { result, specification: validator.specification }
  })
  last = checked.catch(() => undefined)
  return checked
}

/** What an operation of a document has. */
export interface Operation {
  readonly responses: object
  readonly security?: object[]
  readonly tags?: string[]
  readonly summary?: string
  readonly requestBody?: { content: Record<string, { schema: { required?: string[] } }> }
}

/** The operations of the API document of an app with these options, by their method and path. The document is valid. */
export async function operationsOf(t: Test, options: object): Promise<Record<string, Operation>> {
  const app = Fastify()
  t.teardown(() => app.close())
  await app.register(swagger, { openapi: { info: { title: 'Shop', version: '1' } } })
  await app.register(authn, options as AuthnOptions)
  await app.ready()
  const document = app.swagger() as unknown as { paths?: Record<string, Record<string, Operation>> }
  t.match((await validated(document)).result, { valid: true })
  const all = Object.entries(document.paths ?? {}).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => [`${method} ${path}`, operation] as const),
  )
  return Object.fromEntries(all)
}
