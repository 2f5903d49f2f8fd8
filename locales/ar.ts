import type { Catalogue } from '../types/messages.js'

export const ar = {
  'auth.invalid-credentials': 'بيانات الاعتماد غير صحيحة.',
  'auth.no-credentials-provided': 'ترويسة المصادقة غير صالحة أو غير موجودة.',
  'auth.jwt-invalid': 'رمز المصادقة الخاص بك غير صالح.',
  'auth.logged-out': 'تم تسجيل خروجك.',
  'auth.jwt-not-valid-yet': 'رمز المصادقة الخاص بك لم يصبح صالحًا بعد.',
  'auth.jwt-expired': 'انتهت صلاحية رمز المصادقة الخاص بك.',
  'auth.api-key-invalid': 'مفتاح API الخاص بك غير صالح.',
  'auth.api-key-expired': 'انتهت صلاحية مفتاح API الخاص بك.',
  'auth.api-key-not-accepted': 'لا يقبل هذا المسار مفاتيح API.',
  'auth.credentials-not-accepted': 'لا يقبل هذا المسار بيانات الاعتماد هذه.',
  'auth.overloaded': 'الخادم مشغول. يُرجى المحاولة مرة أخرى لاحقًا.',
  'auth.too-many-attempts': 'عدد المحاولات الفاشلة كبير جدًا. يُرجى المحاولة مرة أخرى لاحقًا.',
  'auth.insufficient-scope': 'بيانات الاعتماد الخاصة بك لا تسمح بهذا الإجراء.',
  'auth.forbidden': 'غير مسموح لك بالقيام بذلك.',
  'auth.cross-site': 'لا تُقبل الطلبات الواردة من مواقع أخرى.',
  'auth.refresh-invalid': 'انتهت جلستك. يرجى تسجيل الدخول مرة أخرى.',
  'auth.refresh-reused': 'تم إنهاء جلستك حفاظًا على أمانك. يرجى تسجيل الدخول مرة أخرى.',
  'auth.account-exists': 'يوجد حساب بهذا العنوان. يرجى تسجيل الدخول إليه وربط المزوّد من هناك.',
  'auth.account-disabled': 'هذا الحساب موقوف. يرجى التواصل مع الدعم.',
  'auth.identity-last':
    'هذه طريقتك الوحيدة لتسجيل الدخول. يرجى تعيين كلمة مرور أو إضافة مفتاح مرور أولاً.',
  'auth.own-account': 'يجب أن يقوم مسؤول آخر بذلك لحسابك.',
  'auth.not-found': 'هذا العنصر غير موجود.',
} satisfies Partial<Catalogue>
