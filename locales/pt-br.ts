import type { Catalogue } from '../types/messages.js'

export const ptBr = {
  'auth.invalid-credentials': 'Credenciais inválidas.',
  'auth.no-credentials-provided': 'Cabeçalho de autenticação inválido ou ausente.',
  'auth.jwt-invalid': 'Seu token de autenticação é inválido.',
  'auth.jwt-not-valid-yet': 'Seu token de autenticação ainda não é válido.',
  'auth.jwt-expired': 'Seu token de autenticação expirou.',
  'auth.api-key-invalid': 'Sua chave de API é inválida.',
  'auth.api-key-expired': 'Sua chave de API expirou.',
  'auth.api-key-not-accepted': 'Esta rota não aceita chaves de API.',
  'auth.credentials-not-accepted': 'Esta rota não aceita estas credenciais.',
  'auth.overloaded': 'O servidor está sobrecarregado. Tente novamente mais tarde.',
  'auth.too-many-attempts': 'Muitas tentativas malsucedidas. Tente novamente mais tarde.',
  'auth.insufficient-scope': 'Suas credenciais não permitem esta ação.',
  'auth.forbidden': 'Você não tem permissão para fazer isso.',
  'auth.cross-site': 'Solicitações de outros sites não são aceitas.',
  'auth.refresh-invalid': 'Sua sessão terminou. Faça login novamente.',
  'auth.refresh-reused': 'Sua sessão foi encerrada por segurança. Faça login novamente.',
  'auth.login-expired': 'Seu login expirou. Tente novamente.',
  'auth.login-failed': 'Não foi possível fazer login.',
} satisfies Partial<Catalogue>
