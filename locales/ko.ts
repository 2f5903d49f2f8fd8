import type { Catalogue } from '../types/messages.js'

export const ko = {
  'auth.invalid-credentials': '인증 정보가 올바르지 않습니다.',
  'auth.no-credentials-provided': '인증 헤더가 없거나 올바르지 않습니다.',
  'auth.jwt-invalid': '인증 토큰이 유효하지 않습니다.',
  'auth.logged-out': '로그아웃되었습니다.',
  'auth.jwt-not-valid-yet': '인증 토큰이 아직 유효하지 않습니다.',
  'auth.jwt-expired': '인증 토큰이 만료되었습니다.',
  'auth.api-key-invalid': 'API 키가 유효하지 않습니다.',
  'auth.api-key-expired': 'API 키가 만료되었습니다.',
  'auth.api-key-not-accepted': '이 경로에서는 API 키를 사용할 수 없습니다.',
  'auth.credentials-not-accepted': '이 경로에서는 이 자격 증명을 사용할 수 없습니다.',
  'auth.overloaded': '서버가 혼잡합니다. 잠시 후 다시 시도해 주세요.',
  'auth.too-many-attempts': '인증 실패 횟수가 너무 많습니다. 잠시 후 다시 시도해 주세요.',
  'auth.insufficient-authentication': '본인임을 확인해 주세요.',
  'auth.insufficient-scope': '현재 인증 정보로는 이 작업을 수행할 수 없습니다.',
  'auth.forbidden': '이 작업을 수행할 권한이 없습니다.',
  'auth.cross-site': '다른 사이트에서 보낸 요청은 허용되지 않습니다.',
  'auth.refresh-invalid': '세션이 종료되었습니다. 다시 로그인해 주세요.',
  'auth.refresh-reused': '보안을 위해 세션이 종료되었습니다. 다시 로그인해 주세요.',
  'auth.account-exists':
    '이 주소의 계정이 이미 있습니다. 해당 계정에 로그인한 후 제공업체를 연결해 주세요.',
  'auth.account-disabled': '이 계정은 정지되었습니다. 고객 지원팀에 문의해 주세요.',
  'auth.identity-last':
    '유일한 로그인 방법입니다. 먼저 비밀번호를 설정하거나 패스키를 추가해 주세요.',
  'auth.own-account': '본인 계정에 대해서는 다른 관리자가 이 작업을 해야 합니다.',
  'auth.not-found': '존재하지 않습니다.',
} satisfies Partial<Catalogue>
