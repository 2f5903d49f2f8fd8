import type { Catalogue } from '../types/messages.js'

export const zhTw = {
  'auth.invalid-credentials': '登入資訊不正確。',
  'auth.no-credentials-provided': '缺少身分驗證標頭，或標頭無效。',
  'auth.jwt-invalid': '您的身分驗證權杖無效。',
  'auth.logged-out': '您已被登出。',
  'auth.jwt-not-valid-yet': '您的身分驗證權杖尚未生效。',
  'auth.jwt-expired': '您的身分驗證權杖已過期。',
  'auth.api-key-invalid': '您的 API 金鑰無效。',
  'auth.api-key-expired': '您的 API 金鑰已過期。',
  'auth.api-key-not-accepted': '此路由不接受 API 金鑰。',
  'auth.credentials-not-accepted': '此路由不接受這些憑證。',
  'auth.overloaded': '伺服器忙碌中，請稍後再試。',
  'auth.too-many-attempts': '嘗試失敗次數過多，請稍後再試。',
  'auth.insufficient-authentication': '請確認是您本人操作。',
  'auth.insufficient-scope': '您的身分驗證資訊不允許執行此操作。',
  'auth.forbidden': '您沒有權限執行此操作。',
  'auth.cross-site': '不接受來自其他網站的請求。',
  'auth.refresh-invalid': '您的工作階段已結束。請重新登入。',
  'auth.refresh-reused': '為了您的安全，工作階段已被終止。請重新登入。',
} satisfies Partial<Catalogue>
