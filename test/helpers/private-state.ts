import { Session, type Runtime } from 'node:inspector'

/** What the types of Node do not tell of. */
interface Properties extends Runtime.GetPropertiesReturnType {
  privateProperties?: Runtime.InternalPropertyDescriptor[]
}

const place = '__fastifyAuthnInspected'

/**
 * Everything that an object holds, private fields and the entries of collections included, as the
 * debugger sees it: every text and every name, and the bytes of every buffer as Latin-1. Functions and
 * prototypes are left out.
 */
export function privateState(object: object): string[] {
  const session = new Session()
  session.connect()
  // Where the debugger finds it; the set keeps circles from being walked for ever.
  Object.assign(globalThis, { [place]: { object, seen: new Set() } })
  try {
    const texts: string[] = []
    const expression = `globalThis.${place}.object`
    const { result } = post<Runtime.EvaluateReturnType>(session, 'Runtime.evaluate', { expression })
    collect(session, result, texts)
    return texts
  } finally {
    Object.assign(globalThis, { [place]: undefined })
    session.disconnect()
  }
}

function post<Result>(session: Session, method: string, parameters: object): Result {
  const outcome: { error?: Error | null; result?: Result } = {}
  session.post(method, parameters, (error: Error | null, result?: object) => {
    Object.assign(outcome, { error, result })
  })
  if (outcome.result !== undefined) return outcome.result
  throw outcome.error ?? new Error(`${method}: no answer`)
}

const look = `function () {
  const { seen } = globalThis.${place}
  if (seen.has(this)) return { known: true }
  seen.add(this)
  const isBytes = ArrayBuffer.isView(this) && this.BYTES_PER_ELEMENT === 1
  return { known: false, bytes: isBytes ? String.fromCharCode(...this) : null }
}`

function collect(
  session: Session,
  { type, value, objectId }: Runtime.RemoteObject,
  texts: string[],
): void {
  if (type === 'string') texts.push(String(value))
  if (type !== 'object' || objectId === undefined) return
  const looked = post<Runtime.CallFunctionOnReturnType>(session, 'Runtime.callFunctionOn', {
    objectId,
    functionDeclaration: look,
    returnByValue: true,
  })
  const { known, bytes } = looked.result.value as { known: boolean; bytes?: string | null }
  if (known) return
  if (typeof bytes === 'string') {
    texts.push(bytes)
    return
  }
  const found = post<Properties>(session, 'Runtime.getProperties', {
    objectId,
    ownProperties: true,
  })
  const { result, privateProperties = [], internalProperties = [] } = found
  for (const { name, value: inner } of [...result, ...privateProperties, ...internalProperties]) {
    texts.push(name)
    if (inner === undefined || name === '__proto__' || name === '[[Prototype]]') continue
    collect(session, inner, texts)
  }
}
