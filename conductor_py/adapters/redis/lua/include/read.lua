-- Reads of one execution: plain fields, and pointers that are followed. Each field once, within a budget of bytes.
local function field_reader(key, first_seq, budget)
  local reader = {out = {}, seen = {}, room = budget}

  -- Fetches fields by name; pointers below the first attempt that exists read as absent.
  function reader.fetch(names)
    local todo = {}
    for _, name in ipairs(names) do
      if not reader.seen[name] then
        reader.seen[name] = true
        todo[#todo + 1] = name
      end
    end
    local found = {}
    for from = 1, #todo, 1000 do
      local upto = math.min(from + 999, #todo)
      local values = redis.call('HMGET', key, unpack(todo, from, upto))
      for i = from, upto do
        local value = values[i - from + 1]
        if value and string.sub(todo[i], 1, 2) == 'r:' and tonumber(value) < first_seq then
          value = false
        end
        local size = value and #value or 0
        if reader.room >= size then
          reader.room = reader.room - size
          reader.out[#reader.out + 1] = todo[i]
          reader.out[#reader.out + 1] = value
          found[todo[i]] = value
        else
          reader.seen[todo[i]] = nil
        end
      end
    end
    return found
  end

  -- Fetches reads: "<field>" or "><kinds> <pointer field>".
  function reader.read(reads)
    local names, follow = {}, {}
    for _, read in ipairs(reads) do
      if string.sub(read, 1, 1) == '>' then
        local kinds, pointer = string.match(read, '^>(%a*) (.*)$')
        names[#names + 1] = pointer
        follow[#follow + 1] = {kinds, pointer}
      else
        names[#names + 1] = read
      end
    end
    local found = reader.fetch(names)
    names = {}
    for _, pair in ipairs(follow) do
      local seq = found[pair[2]] or reader.pointers and reader.pointers[pair[2]]
      if seq then
        for kind in string.gmatch(pair[1], '%a') do
          names[#names + 1] = kind .. ':' .. seq
        end
        reader.pointers = reader.pointers or {}
        reader.pointers[pair[2]] = seq
      end
    end
    if #names > 0 then
      reader.fetch(names)
    end
  end

  return reader
end

-- "#*<n>" at the end of a name stands for the first n components of the iteration vector.
local function expand_vector(name, vector)
  local stem, n = string.match(name, '^(.*)#%*(%d+)$')
  if not stem then
    return name
  end
  local parts = {}
  for part in string.gmatch(vector, '[^.]+') do
    if #parts == tonumber(n) then
      break
    end
    parts[#parts + 1] = part
  end
  if #parts == 0 then
    return stem
  end
  return stem .. '#' .. table.concat(parts, '.')
end
