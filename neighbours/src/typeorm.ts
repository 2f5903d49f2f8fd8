import type { Repository } from 'typeorm'
import type { UserService } from 'fastify-authn'

interface Member {
  id: number
  name: string
  password: string
}
declare const members: Repository<Member>

export const userService: UserService<Member> = {
  findByUsername: (name) =>
    members
      .createQueryBuilder('member')
      .addSelect('member.password')
      .where('lower(member.name) = lower(:name)', { name: String(name) })
      .getOne(),
}
