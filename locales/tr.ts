import type { Catalogue } from '../types/messages.js'

export const tr = {
  'auth.invalid-credentials': 'Kimlik bilgileri geçersiz.',
  'auth.no-credentials-provided': 'Kimlik doğrulama başlığı eksik veya geçersiz.',
  'auth.jwt-invalid': 'Kimlik doğrulama belirteciniz geçersiz.',
  'auth.logged-out': 'Oturumunuz kapatıldı.',
  'auth.jwt-not-valid-yet': 'Kimlik doğrulama belirteciniz henüz geçerli değil.',
  'auth.jwt-expired': 'Kimlik doğrulama belirtecinizin süresi doldu.',
  'auth.api-key-invalid': 'API anahtarınız geçersiz.',
  'auth.api-key-expired': 'API anahtarınızın süresi doldu.',
  'auth.api-key-not-accepted': 'Bu adres API anahtarlarını kabul etmiyor.',
  'auth.credentials-not-accepted': 'Bu adres bu kimlik bilgilerini kabul etmiyor.',
  'auth.overloaded': 'Sunucu meşgul. Lütfen daha sonra tekrar deneyin.',
  'auth.too-many-attempts': 'Çok fazla başarısız deneme yapıldı. Lütfen daha sonra tekrar deneyin.',
  'auth.insufficient-scope': 'Kimlik bilgileriniz bu işleme izin vermiyor.',
  'auth.forbidden': 'Bunu yapma yetkiniz yok.',
  'auth.cross-site': 'Diğer sitelerden gelen istekler kabul edilmez.',
  'auth.refresh-invalid': 'Oturumunuz sona erdi. Lütfen yeniden giriş yapın.',
  'auth.refresh-reused': 'Oturumunuz güvenliğiniz için sonlandırıldı. Lütfen yeniden giriş yapın.',
  'auth.account-exists':
    'Bu adresle bir hesap var. Lütfen o hesaba giriş yapın ve sağlayıcıyı oradan bağlayın.',
  'auth.account-disabled': 'Bu hesap askıya alındı. Lütfen destek ekibiyle iletişime geçin.',
  'auth.identity-last':
    'Bu, tek giriş yönteminiz. Lütfen önce bir parola belirleyin veya bir geçiş anahtarı ekleyin.',
  'auth.own-account': 'Kendi hesabınız için bunu başka bir yönetici yapmalıdır.',
  'auth.not-found': 'Bu mevcut değil.',
} satisfies Partial<Catalogue>
