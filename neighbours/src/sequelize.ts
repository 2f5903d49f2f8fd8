import { col, fn, Model, where } from 'sequelize'
import type { UserService } from 'fastify-authn'

class Member extends Model {
  declare id: number
  declare name: string
  declare password: string
}

export const userService: UserService<Member> = {
  findByUsername: async (name) =>
    Member.findOne({ where: where(fn('lower', col('name')), fn('lower', String(name))) }),
}
