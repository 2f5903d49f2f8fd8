import type { Catalogue } from '../types/messages.js'

export const ja = {
  'auth.invalid-credentials': '認証情報が正しくありません。',
  'auth.no-credentials-provided': '認証ヘッダーがないか、無効です。',
  'auth.jwt-invalid': '認証トークンが無効です。',
  'auth.logged-out': 'ログアウトされました。',
  'auth.jwt-not-valid-yet': '認証トークンはまだ有効になっていません。',
  'auth.jwt-expired': '認証トークンの有効期限が切れています。',
  'auth.api-key-invalid': 'API キーが無効です。',
  'auth.api-key-expired': 'API キーの有効期限が切れています。',
  'auth.api-key-not-accepted': 'このルートでは API キーを使用できません。',
  'auth.credentials-not-accepted': 'このルートではこの認証情報を使用できません。',
  'auth.overloaded': 'サーバーが混み合っています。しばらくしてからもう一度お試しください。',
  'auth.too-many-attempts': '認証の失敗回数が多すぎます。しばらくしてからもう一度お試しください。',
  'auth.insufficient-authentication': 'ご本人であることを確認してください。',
  'auth.insufficient-scope': 'お使いの認証情報ではこの操作は許可されていません。',
  'auth.forbidden': 'この操作を行う権限がありません。',
  'auth.cross-site': '他のサイトからのリクエストは受け付けられません。',
  'auth.refresh-invalid': 'セッションは終了しました。もう一度ログインしてください。',
  'auth.refresh-reused': '安全のためセッションを終了しました。もう一度ログインしてください。',
  'auth.account-exists':
    'このメールアドレスのアカウントは既に存在します。そのアカウントにログインし、そこでプロバイダーを連携してください。',
  'auth.account-disabled': 'このアカウントは停止されています。サポートにお問い合わせください。',
  'auth.identity-last':
    'これが唯一のログイン方法です。先にパスワードを設定するか、パスキーを追加してください。',
  'auth.own-account': 'ご自身のアカウントについては、別の管理者が行う必要があります。',
  'auth.not-found': '存在しません。',
} satisfies Partial<Catalogue>
