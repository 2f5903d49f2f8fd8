import type { Catalogue } from '../types/messages.js'

export const zh = {
  'auth.invalid-credentials': '登录凭据无效。',
  'auth.no-credentials-provided': '身份验证请求头缺失或无效。',
  'auth.jwt-invalid': '您的身份验证令牌无效。',
  'auth.logged-out': '您已被登出。',
  'auth.jwt-not-valid-yet': '您的身份验证令牌尚未生效。',
  'auth.jwt-expired': '您的身份验证令牌已过期。',
  'auth.api-key-invalid': '您的 API 密钥无效。',
  'auth.api-key-expired': '您的 API 密钥已过期。',
  'auth.api-key-not-accepted': '此路由不接受 API 密钥。',
  'auth.credentials-not-accepted': '此路由不接受这些凭据。',
  'auth.overloaded': '服务器繁忙，请稍后再试。',
  'auth.too-many-attempts': '失败尝试次数过多，请稍后再试。',
  'auth.insufficient-authentication': '请确认是您本人操作。',
  'auth.insufficient-scope': '您的凭据不允许执行此操作。',
  'auth.forbidden': '您无权执行此操作。',
  'auth.cross-site': '不接受来自其他网站的请求。',
  'auth.refresh-invalid': '您的会话已结束。请重新登录。',
  'auth.refresh-reused': '为了您的安全，会话已被终止。请重新登录。',
} satisfies Partial<Catalogue>
