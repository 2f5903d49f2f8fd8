import type { Catalogue } from '../types/messages.js'

export const vi = {
  'auth.invalid-credentials': 'Thông tin đăng nhập không chính xác.',
  'auth.no-credentials-provided': 'Header xác thực không hợp lệ hoặc bị thiếu.',
  'auth.jwt-invalid': 'Token xác thực của bạn không hợp lệ.',
  'auth.logged-out': 'Bạn đã bị đăng xuất.',
  'auth.jwt-not-valid-yet': 'Token xác thực của bạn chưa có hiệu lực.',
  'auth.jwt-expired': 'Token xác thực của bạn đã hết hạn.',
  'auth.api-key-invalid': 'Khóa API của bạn không hợp lệ.',
  'auth.api-key-expired': 'Khóa API của bạn đã hết hạn.',
  'auth.api-key-not-accepted': 'Đường dẫn này không chấp nhận khóa API.',
  'auth.credentials-not-accepted': 'Đường dẫn này không chấp nhận thông tin xác thực này.',
  'auth.overloaded': 'Máy chủ đang bận. Vui lòng thử lại sau.',
  'auth.too-many-attempts': 'Quá nhiều lần thử không thành công. Vui lòng thử lại sau.',
  'auth.insufficient-scope': 'Thông tin xác thực của bạn không cho phép thao tác này.',
  'auth.forbidden': 'Bạn không được phép làm điều này.',
  'auth.cross-site': 'Không chấp nhận yêu cầu từ trang web khác.',
  'auth.refresh-invalid': 'Phiên của bạn đã kết thúc. Vui lòng đăng nhập lại.',
  'auth.refresh-reused': 'Phiên của bạn đã bị kết thúc vì lý do bảo mật. Vui lòng đăng nhập lại.',
  'auth.account-exists':
    'Đã có tài khoản với địa chỉ này. Vui lòng đăng nhập vào đó rồi kết nối nhà cung cấp tại đó.',
  'auth.account-disabled': 'Tài khoản này đã bị tạm khóa. Vui lòng liên hệ bộ phận hỗ trợ.',
  'auth.identity-last':
    'Đây là cách đăng nhập duy nhất của bạn. Vui lòng đặt mật khẩu hoặc thêm khóa truy cập trước.',
  'auth.own-account': 'Một quản trị viên khác phải làm điều này cho tài khoản của bạn.',
  'auth.not-found': 'Mục này không tồn tại.',
} satisfies Partial<Catalogue>
