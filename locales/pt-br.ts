import type { Catalogue } from '../types/messages.js'

export const ptBr = {
  'auth.invalid-credentials': 'Credenciais inválidas.',
  'auth.no-credentials-provided': 'Cabeçalho de autenticação inválido ou ausente.',
  'auth.jwt-invalid': 'Seu token de autenticação é inválido.',
  'auth.logged-out': 'Você foi desconectado.',
  'auth.jwt-not-valid-yet': 'Seu token de autenticação ainda não é válido.',
  'auth.jwt-expired': 'Seu token de autenticação expirou.',
  'auth.api-key-invalid': 'Sua chave de API é inválida.',
  'auth.api-key-expired': 'Sua chave de API expirou.',
  'auth.api-key-not-accepted': 'Esta rota não aceita chaves de API.',
  'auth.credentials-not-accepted': 'Esta rota não aceita estas credenciais.',
  'auth.overloaded': 'O servidor está sobrecarregado. Tente novamente mais tarde.',
  'auth.too-many-attempts': 'Muitas tentativas malsucedidas. Tente novamente mais tarde.',
  'auth.insufficient-authentication': 'Confirme sua identidade.',
  'auth.insufficient-scope': 'Suas credenciais não permitem esta ação.',
  'auth.forbidden': 'Você não tem permissão para fazer isso.',
  'auth.cross-site': 'Solicitações de outros sites não são aceitas.',
  'auth.token-delivery': 'Os tokens no corpo são apenas para clientes que não sejam navegadores.',
  'auth.refresh-invalid': 'Sua sessão terminou. Faça login novamente.',
  'auth.refresh-reused': 'Sua sessão foi encerrada por segurança. Faça login novamente.',
  'auth.login-expired': 'Seu login expirou. Tente novamente.',
  'auth.login-failed': 'Não foi possível fazer login.',
  'auth.link-taken': 'Esta conta do provedor pertence a outro usuário.',
  'auth.link-invalid': 'Este link não é mais válido. Solicite um novo.',
  'auth.password-too-short':
    'Esta senha é muito curta. Use pelo menos {minPasswordLength} caracteres.',
  'auth.password-too-long': 'Esta senha é muito longa.',
  'auth.password-guessable': 'Esta senha é fácil de adivinhar. Escolha outra.',
  'auth.current-password': 'A senha atual está incorreta.',
  'auth.too-many-mails': 'Foram solicitados e-mails demais. Tente novamente mais tarde.',
  'auth.account-exists':
    'Já existe uma conta com este endereço. Entre nela e conecte o provedor lá.',
  'auth.account-disabled': 'Esta conta está suspensa. Entre em contato com o suporte.',
  'auth.identity-last':
    'Esta é a sua única forma de entrar. Defina primeiro uma senha ou adicione uma chave de acesso.',
  'auth.own-account': 'Para a sua própria conta, outro administrador precisa fazer isso.',
  'auth.not-found': 'Isto não existe.',
  'auth.passkey-invalid': 'Esta chave de acesso não foi aceita. Tente novamente.',
  'auth.passkey-last':
    'É a sua única forma de entrar. Primeiro defina uma senha ou adicione outra chave de acesso.',
  'auth.code-invalid': 'Este código está errado ou já foi usado.',
  'auth.mail-code-invalid':
    'Este código está incorreto. Ele só funciona onde o respectivo e-mail foi solicitado.',
} satisfies Partial<Catalogue>
