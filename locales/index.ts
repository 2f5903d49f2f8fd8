import type { Catalogue } from '../types/messages.js'
import { ar } from './ar.js'
import { bg } from './bg.js'
import { ca } from './ca.js'
import { cs } from './cs.js'
import { da } from './da.js'
import { de } from './de.js'
import { el } from './el.js'
import { en } from './en.js'
import { es } from './es.js'
import { fa } from './fa.js'
import { fi } from './fi.js'
import { fr } from './fr.js'
import { he } from './he.js'
import { hi } from './hi.js'
import { hr } from './hr.js'
import { hu } from './hu.js'
import { id } from './id.js'
import { it } from './it.js'
import { ja } from './ja.js'
import { ko } from './ko.js'
import { ms } from './ms.js'
import { nb } from './nb.js'
import { nl } from './nl.js'
import { pl } from './pl.js'
import { pt } from './pt.js'
import { ptBr } from './pt-br.js'
import { ro } from './ro.js'
import { ru } from './ru.js'
import { sk } from './sk.js'
import { sr } from './sr.js'
import { sv } from './sv.js'
import { th } from './th.js'
import { tr } from './tr.js'
import { uk } from './uk.js'
import { vi } from './vi.js'
import { zh } from './zh.js'
import { zhTw } from './zh-tw.js'

/**
 * The messages in all languages, by language tag (BCP 47). It has no prototype: otherwise `constructor` would be found
 * in it. Some tags stand for the text of another one: `no` for Bokmål (`nb`), the old codes `iw` and `in` for `he` and
 * `id`, and the tags of Traditional Chinese, which the look-up (RFC 4647 §3.4) would shorten to `zh`, which is
 * Simplified. `nn` is a written language of its own, and is not there.
 */
export const locales: Readonly<Record<string, Partial<Catalogue>>> = Object.assign(
  Object.create(null),
  {
    ar,
    bg,
    ca,
    cs,
    da,
    de,
    el,
    en,
    es,
    fa,
    fi,
    fr,
    he,
    iw: he,
    hi,
    hr,
    hu,
    id,
    in: id,
    it,
    ja,
    ko,
    ms,
    nb,
    no: nb,
    nl,
    pl,
    pt,
    'pt-BR': ptBr,
    ro,
    ru,
    sk,
    sr,
    sv,
    th,
    tr,
    uk,
    vi,
    zh,
    'zh-TW': zhTw,
    'zh-Hant': zhTw,
    'zh-HK': zhTw,
    'zh-MO': zhTw,
  } satisfies Record<string, Partial<Catalogue>>,
)
