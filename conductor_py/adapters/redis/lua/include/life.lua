-- Names the life of this server: another after a restart or a failover, which may have lost the last writes. Empty
-- where a server does not tell.
local function life_of_server()
  local told = redis.pcall('INFO', 'server')
  return type(told) == 'string' and string.match(told, 'run_id:(%x+)') or ''
end
