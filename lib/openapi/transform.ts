// What an app loads only where it has documents to write.
import { DocumentWriter } from './document.js'
import { aboutOf, describe } from './route.js'
import type { Node } from './dialects.js'
import type { Transform, TransformInput, TransformObject } from './facts.js'

const writers = new WeakMap<object, DocumentWriter>()

/** Runs the app's own `transform`, and adds to its result what is known of the route. */
export function transform(own: Transform | null, input: TransformInput): ReturnType<Transform> {
  const { route, schema } = input
  const about = aboutOf(route)
  if (about === null) return own?.(input) ?? {}
  // The body of the login route is not passed to the app's transform, which may expect another schema library.
  const { body: _, ...rest } = schema ?? {}
  const given = about.login === undefined ? schema : rest
  const result = own?.({ ...input, schema: given as Node }) ?? {}
  return { ...result, schema: describe(result.schema ?? given ?? {}, about, writerOf(input)) }
}

/** Completes the document, and runs the app's own `transformObject`. */
export function transformObject(
  own: TransformObject | null,
  input: Parameters<TransformObject>[0],
): unknown {
  writerOf(input).finish()
  return own === null ? (input.openapiObject ?? input.swaggerObject) : own(input)
}

function writerOf({
  openapiObject,
  swaggerObject,
}: Parameters<TransformObject>[0]): DocumentWriter {
  const document = (openapiObject ?? swaggerObject) as Node
  const writer = writers.get(document) ?? new DocumentWriter(document)
  writers.set(document, writer)
  return writer
}
