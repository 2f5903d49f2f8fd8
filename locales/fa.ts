import type { Catalogue } from '../types/messages.js'

export const fa = {
  'auth.invalid-credentials': 'اطلاعات ورود نامعتبر است.',
  'auth.no-credentials-provided': 'سرآیند احراز هویت نامعتبر است یا وجود ندارد.',
  'auth.jwt-invalid': 'توکن احراز هویت شما نامعتبر است.',
  'auth.logged-out': 'از حساب خود خارج شده‌اید.',
  'auth.jwt-not-valid-yet': 'توکن احراز هویت شما هنوز معتبر نیست.',
  'auth.jwt-expired': 'توکن احراز هویت شما منقضی شده است.',
  'auth.api-key-invalid': 'کلید API شما نامعتبر است.',
  'auth.api-key-expired': 'کلید API شما منقضی شده است.',
  'auth.api-key-not-accepted': 'این مسیر کلید API را نمی‌پذیرد.',
  'auth.credentials-not-accepted': 'این مسیر این اطلاعات ورود را نمی‌پذیرد.',
  'auth.overloaded': 'سرور مشغول است. لطفاً بعداً دوباره تلاش کنید.',
  'auth.too-many-attempts': 'تعداد تلاش‌های ناموفق بیش از حد مجاز است. لطفاً بعداً دوباره تلاش کنید.',
  'auth.insufficient-scope': 'اطلاعات احراز هویت شما اجازه این کار را نمی‌دهد.',
  'auth.forbidden': 'شما مجاز به انجام این کار نیستید.',
  'auth.cross-site': 'درخواست‌های سایت‌های دیگر پذیرفته نمی‌شوند.',
  'auth.refresh-invalid': 'نشست شما به پایان رسیده است. لطفاً دوباره وارد شوید.',
  'auth.refresh-reused': 'نشست شما برای حفظ امنیت پایان یافت. لطفاً دوباره وارد شوید.',
  'auth.account-exists':
    'حسابی با این نشانی وجود دارد. لطفاً به آن وارد شوید و ارائه‌دهنده را همان‌جا متصل کنید.',
  'auth.account-disabled': 'این حساب معلق شده است. لطفاً با پشتیبانی تماس بگیرید.',
  'auth.identity-last': 'این تنها راه ورود شماست. لطفاً ابتدا یک گذرواژه یا کلید عبور اضافه کنید.',
  'auth.own-account': 'مدیر دیگری باید این کار را برای حساب شما انجام دهد.',
  'auth.not-found': 'این مورد وجود ندارد.',
} satisfies Partial<Catalogue>
