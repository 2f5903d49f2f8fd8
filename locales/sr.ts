import type { Catalogue } from '../types/messages.js'

export const sr = {
  'auth.invalid-credentials': 'Неисправни подаци за пријаву.',
  'auth.no-credentials-provided': 'Заглавље за аутентификацију недостаје или није исправно.',
  'auth.jwt-invalid': 'Ваш токен за аутентификацију није важећи.',
  'auth.logged-out': 'Одјављени сте.',
  'auth.jwt-not-valid-yet': 'Ваш токен за аутентификацију још није важећи.',
  'auth.jwt-expired': 'Ваш токен за аутентификацију је истекао.',
  'auth.api-key-invalid': 'Ваш API кључ није важећи.',
  'auth.api-key-expired': 'Ваш API кључ је истекао.',
  'auth.api-key-not-accepted': 'Ова путања не прихвата API кључеве.',
  'auth.credentials-not-accepted': 'Ова путања не прихвата ове податке за пријаву.',
  'auth.overloaded': 'Сервер је преоптерећен. Покушајте поново касније.',
  'auth.too-many-attempts': 'Превише неуспешних покушаја. Покушајте поново касније.',
  'auth.insufficient-scope': 'Ваши подаци за аутентификацију не дозвољавају ову радњу.',
  'auth.forbidden': 'Није вам дозвољено да ово урадите.',
  'auth.cross-site': 'Захтеви са других сајтова се не прихватају.',
  'auth.refresh-invalid': 'Ваша сесија је завршена. Пријавите се поново.',
  'auth.refresh-reused': 'Ваша сесија је прекинута ради ваше безбедности. Пријавите се поново.',
  'auth.account-exists':
    'Налог са овом адресом већ постоји. Пријавите се на њега и тамо повежите провајдера.',
  'auth.account-disabled': 'Овај налог је суспендован. Обратите се подршци.',
  'auth.identity-last':
    'Ово је ваш једини начин пријаве. Најпре поставите лозинку или додајте приступни кључ.',
  'auth.own-account': 'За ваш сопствени налог то мора да уради други администратор.',
  'auth.not-found': 'Ово не постоји.',
} satisfies Partial<Catalogue>
