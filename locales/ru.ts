import type { Catalogue } from '../types/messages.js'

export const ru = {
  'auth.invalid-credentials': 'Неверные учётные данные.',
  'auth.no-credentials-provided': 'Заголовок аутентификации отсутствует или недействителен.',
  'auth.jwt-invalid': 'Ваш токен аутентификации недействителен.',
  'auth.logged-out': 'Выполнен выход из системы.',
  'auth.jwt-not-valid-yet': 'Ваш токен аутентификации ещё не действителен.',
  'auth.jwt-expired': 'Срок действия вашего токена аутентификации истёк.',
  'auth.api-key-invalid': 'Ваш ключ API недействителен.',
  'auth.api-key-expired': 'Срок действия вашего ключа API истёк.',
  'auth.api-key-not-accepted': 'Этот маршрут не принимает ключи API.',
  'auth.credentials-not-accepted': 'Этот маршрут не принимает эти учётные данные.',
  'auth.overloaded': 'Сервер перегружен. Пожалуйста, попробуйте позже.',
  'auth.too-many-attempts': 'Слишком много неудачных попыток. Пожалуйста, попробуйте позже.',
  'auth.insufficient-authentication': 'Подтвердите свою личность.',
  'auth.insufficient-scope': 'Ваши учётные данные не позволяют выполнить это действие.',
  'auth.forbidden': 'У вас нет прав на это действие.',
  'auth.cross-site': 'Запросы с других сайтов не принимаются.',
  'auth.refresh-invalid': 'Ваш сеанс завершён. Войдите снова.',
  'auth.refresh-reused': 'Ваш сеанс завершён из соображений безопасности. Войдите снова.',
  'auth.account-exists':
    'Учётная запись с этим адресом уже есть. Войдите в неё и подключите провайдера там.',
  'auth.account-disabled': 'Эта учётная запись заблокирована. Обратитесь в службу поддержки.',
  'auth.identity-last':
    'Это ваш единственный способ входа. Сначала задайте пароль или добавьте ключ доступа.',
  'auth.own-account': 'Для вашей учётной записи это должен сделать другой администратор.',
  'auth.not-found': 'Такого объекта нет.',
} satisfies Partial<Catalogue>
