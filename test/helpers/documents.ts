import { Validator } from '@seriousme/openapi-schema-validator'

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
