import type { Catalogue } from '../types/messages.js'

export const bg = {
  'auth.invalid-credentials': 'Невалидни данни за вход.',
  'auth.no-credentials-provided': 'Заглавката за удостоверяване липсва или е невалидна.',
  'auth.jwt-invalid': 'Вашият токен за удостоверяване е невалиден.',
  'auth.logged-out': 'Сесията ви беше прекратена.',
  'auth.jwt-not-valid-yet': 'Вашият токен за удостоверяване все още не е валиден.',
  'auth.jwt-expired': 'Срокът на валидност на Вашия токен за удостоверяване е изтекъл.',
  'auth.api-key-invalid': 'Вашият API ключ е невалиден.',
  'auth.api-key-expired': 'Срокът на валидност на Вашия API ключ е изтекъл.',
  'auth.api-key-not-accepted': 'Този адрес не приема API ключове.',
  'auth.credentials-not-accepted': 'Този адрес не приема тези данни за вход.',
  'auth.overloaded': 'Сървърът е претоварен. Моля, опитайте отново по-късно.',
  'auth.too-many-attempts': 'Твърде много неуспешни опити. Моля, опитайте отново по-късно.',
  'auth.insufficient-scope': 'Вашите данни за достъп не позволяват това действие.',
  'auth.forbidden': 'Нямате право да направите това.',
  'auth.cross-site': 'Заявки от други сайтове не се приемат.',
  'auth.refresh-invalid': 'Сесията Ви приключи. Моля, влезте отново.',
  'auth.refresh-reused':
    'Сесията Ви беше прекратена от съображения за сигурност. Моля, влезте отново.',
} satisfies Partial<Catalogue>
