import type { Catalogue } from '../types/messages.js'

export const uk = {
  'auth.invalid-credentials': 'Неправильні облікові дані.',
  'auth.no-credentials-provided': 'Заголовок автентифікації відсутній або недійсний.',
  'auth.jwt-invalid': 'Ваш токен автентифікації недійсний.',
  'auth.logged-out': 'Виконано вихід із системи.',
  'auth.jwt-not-valid-yet': 'Ваш токен автентифікації ще не набув чинності.',
  'auth.jwt-expired': 'Термін дії вашого токена автентифікації закінчився.',
  'auth.api-key-invalid': 'Ваш ключ API недійсний.',
  'auth.api-key-expired': 'Термін дії вашого ключа API закінчився.',
  'auth.api-key-not-accepted': 'Цей маршрут не приймає ключі API.',
  'auth.credentials-not-accepted': 'Цей маршрут не приймає ці облікові дані.',
  'auth.overloaded': 'Сервер перевантажений. Будь ласка, спробуйте ще раз пізніше.',
  'auth.too-many-attempts': 'Забагато невдалих спроб. Будь ласка, спробуйте ще раз пізніше.',
  'auth.insufficient-authentication': 'Підтвердьте свою особу.',
  'auth.insufficient-scope': 'Ваші облікові дані не дозволяють виконати цю дію.',
  'auth.forbidden': 'У вас немає прав на цю дію.',
  'auth.cross-site': 'Запити з інших сайтів не приймаються.',
  'auth.refresh-invalid': 'Ваш сеанс завершено. Увійдіть знову.',
  'auth.refresh-reused': 'Ваш сеанс завершено з міркувань безпеки. Увійдіть знову.',
  'auth.account-exists':
    'Обліковий запис із цією адресою вже є. Увійдіть у нього й підключіть провайдера там.',
  'auth.account-disabled': 'Цей обліковий запис заблоковано. Зверніться до служби підтримки.',
  'auth.identity-last':
    'Це ваш єдиний спосіб входу. Спочатку задайте пароль або додайте ключ доступу.',
  'auth.own-account': 'Для вашого облікового запису це має зробити інший адміністратор.',
  'auth.not-found': 'Такого об’єкта немає.',
} satisfies Partial<Catalogue>
